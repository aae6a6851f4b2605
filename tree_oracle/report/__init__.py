"""The ways out: what a person reads."""

from tree_oracle.report.catalogue import print_check as print_check
from tree_oracle.report.catalogue import print_checks as print_checks
from tree_oracle.report.catalogue import print_fault as print_fault
from tree_oracle.report.catalogue import print_faults as print_faults
from tree_oracle.report.compare import Comparison as Comparison
from tree_oracle.report.compare import compare as compare
from tree_oracle.report.compare_text import print_comparison as print_comparison
from tree_oracle.report.doctor import print_examined as print_examined
from tree_oracle.report.html import html_page as html_page
from tree_oracle.report.html import write_html as write_html
from tree_oracle.report.junit import junit_xml as junit_xml
from tree_oracle.report.junit import write_junit as write_junit
from tree_oracle.report.markdown import markdown_summary as markdown_summary
from tree_oracle.report.markdown import write_markdown as write_markdown
from tree_oracle.report.proof import print_cell as print_cell
from tree_oracle.report.proof import print_matrix as print_matrix
from tree_oracle.report.proof import print_proof as print_proof
from tree_oracle.report.terminal import UNSEEN as UNSEEN
from tree_oracle.report.terminal import make_console as make_console
from tree_oracle.report.terminal import print_report as print_report
from tree_oracle.report.terminal import print_result as print_result
from tree_oracle.report.terminal import print_unseen as print_unseen
from tree_oracle.report.terminal import result_text as result_text
