"""Small trained checkpoints for engines that bring their own modelling code, with prompts whose margins are measured."""

from tree_oracle.kit.gguf import write_gguf as write_gguf
from tree_oracle.kit.make import make_kit as make_kit
from tree_oracle.kit.model import Kit as Kit
from tree_oracle.kit.model import KitError as KitError
from tree_oracle.kit.model import read_kit as read_kit
from tree_oracle.kit.verify import Difference as Difference
from tree_oracle.kit.verify import verify_kit as verify_kit
