"""Devices and attention kernels behind one interface: what a machine offers, and which kernel really ran."""

from tree_oracle.target.backends.ascend_mask import AscendMask as AscendMask
from tree_oracle.target.backends.ascend_mask import ascend_mask as ascend_mask
from tree_oracle.target.backends.ascend_mask import visible_pairs as visible_pairs
from tree_oracle.target.backends.backend import Backend as Backend
from tree_oracle.target.backends.choose import backend_for as backend_for
from tree_oracle.target.backends.errors import DeviceMissing as DeviceMissing
from tree_oracle.target.backends.errors import DriverMissing as DriverMissing
from tree_oracle.target.backends.errors import MaskShape as MaskShape
from tree_oracle.target.backends.errors import PluginMissing as PluginMissing
from tree_oracle.target.backends.facts import DeviceFacts as DeviceFacts
from tree_oracle.target.backends.hindrance import Hindrance as Hindrance
from tree_oracle.target.backends.hindrance import KernelFailed as KernelFailed
from tree_oracle.target.backends.hindrance import Kind as Kind
from tree_oracle.target.backends.hindrance import kind_of as kind_of
from tree_oracle.target.backends.kernels import KERNELS as KERNELS
from tree_oracle.target.backends.kernels import Kernel as Kernel
from tree_oracle.target.backends.kernels import kernel_named as kernel_named
from tree_oracle.target.backends.seen import Seen as Seen
from tree_oracle.target.backends.seen import kernel_seen as kernel_seen
from tree_oracle.target.backends.seen import kernels_in as kernels_in
