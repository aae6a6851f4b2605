"""Figures of speculative decoding from recorded rounds, each under a named convention, exact as fractions."""

from tree_oracle.metrics.claims import reproduced_by as reproduced_by
from tree_oracle.metrics.counts import MetricError as MetricError
from tree_oracle.metrics.counts import RoundCounts as RoundCounts
from tree_oracle.metrics.counts import count_round as count_round
from tree_oracle.metrics.endings import Coverage as Coverage
from tree_oracle.metrics.endings import WhyEnded as WhyEnded
from tree_oracle.metrics.endings import coverage as coverage
from tree_oracle.metrics.endings import why_ended as why_ended
from tree_oracle.metrics.lengths import LENGTHS as LENGTHS
from tree_oracle.metrics.lengths import LengthConvention as LengthConvention
from tree_oracle.metrics.lengths import acceptance_length as acceptance_length
from tree_oracle.metrics.positions import Proposes as Proposes
from tree_oracle.metrics.positions import position_rates as position_rates
from tree_oracle.metrics.positions import rate as rate
from tree_oracle.metrics.throughput import Gain as Gain
from tree_oracle.metrics.throughput import Rate as Rate
from tree_oracle.metrics.throughput import gain as gain
from tree_oracle.metrics.throughput import per_request_rate as per_request_rate
from tree_oracle.metrics.throughput import single_rate as single_rate
from tree_oracle.metrics.throughput import system_rate as system_rate
