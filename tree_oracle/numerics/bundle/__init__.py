"""Frozen bundles: the same inputs, weights and golden rows on any machine, and the sheet that joins what came back."""

from tree_oracle.numerics.bundle.head import BundleHead as BundleHead
from tree_oracle.numerics.bundle.head import SiteHead as SiteHead
from tree_oracle.numerics.bundle.make import make_bundle as make_bundle
from tree_oracle.numerics.bundle.sheet import Sheet as Sheet
from tree_oracle.numerics.bundle.sheet import compare_sites as compare_sites
