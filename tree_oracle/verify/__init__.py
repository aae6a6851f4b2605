"""Verification: which part of a tree the target accepts."""

from tree_oracle.verify.greedy import Walk as Walk
from tree_oracle.verify.greedy import walk as walk
from tree_oracle.verify.rows import InvalidRows as InvalidRows
from tree_oracle.verify.rows import check_rows as check_rows
