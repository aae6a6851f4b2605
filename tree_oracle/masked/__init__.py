"""The tree-masked forward pass of a Hugging Face model over a cached prefix."""

from tree_oracle.masked.columns import refuse_cache as refuse_cache
from tree_oracle.masked.forward import additive_mask as additive_mask
from tree_oracle.masked.forward import pass_with_masks as pass_with_masks
from tree_oracle.masked.forward import tree_pass as tree_pass
from tree_oracle.masked.kinds import layer_masks as layer_masks
from tree_oracle.masked.support import refuse_unsupported as refuse_unsupported
