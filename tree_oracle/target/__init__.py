"""Targets and their sequential truth: loading, devices and dtypes, the exact model, and runs that never see a tree."""

import tree_oracle.target._torch  # noqa: F401  first: a torch that cannot be imported becomes one clear error
from tree_oracle.target.compat import SLOTS_ARE_TOLD as SLOTS_ARE_TOLD
from tree_oracle.target.compat import forward_with_cache as forward_with_cache
from tree_oracle.target.compat import layer_tensors as layer_tensors
from tree_oracle.target.compat import new_cache as new_cache
from tree_oracle.target.compat import prefill as prefill
from tree_oracle.target.compat import set_layer_tensors as set_layer_tensors
from tree_oracle.target.errors import CacheError as CacheError
from tree_oracle.target.errors import HistoryError as HistoryError
from tree_oracle.target.errors import MaskError as MaskError
from tree_oracle.target.errors import ModelInputError as ModelInputError
from tree_oracle.target.errors import PositionError as PositionError
from tree_oracle.target.errors import TokenError as TokenError
from tree_oracle.target.errors import TorchError as TorchError
from tree_oracle.target.exact_config import ExactLMConfig as ExactLMConfig
from tree_oracle.target.exact_lm import ExactLMForCausalLM as ExactLMForCausalLM
from tree_oracle.target.processed import processed_rows as processed_rows
from tree_oracle.target.sequential import SequentialTruth as SequentialTruth
from tree_oracle.target.target import Target as Target
from tree_oracle.target.target import load_target as load_target
from tree_oracle.target.target import refuse_device as refuse_device
from tree_oracle.target.target import refuse_target as refuse_target
from tree_oracle.target.threads import one_torch_thread as one_torch_thread
