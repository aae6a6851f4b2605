"""The corpus of test vectors: language-neutral cases with their only right answers, made from the reference."""

from tree_oracle.vectors.corpus import digest as digest
from tree_oracle.vectors.corpus import find as find
from tree_oracle.vectors.corpus import load as load
from tree_oracle.vectors.corpus import load_all as load_all
from tree_oracle.vectors.flags import FLAGS as FLAGS
from tree_oracle.vectors.model import GROUPS as GROUPS
from tree_oracle.vectors.runner import Patience as Patience
from tree_oracle.vectors.runner import VectorReport as VectorReport
from tree_oracle.vectors.runner import run_vectors as run_vectors
