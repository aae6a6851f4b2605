"""What may be said of a decoder after a run, as a file that can be verified: made, read, verified and printed."""

from tree_oracle.report.certificate.make import make_certificate as make_certificate
from tree_oracle.report.certificate.model import Certificate as Certificate
from tree_oracle.report.certificate.text import print_certificate as print_certificate
from tree_oracle.report.certificate.text import print_verification as print_verification
from tree_oracle.report.certificate.verify import Difference as Difference
from tree_oracle.report.certificate.verify import read_certificate as read_certificate
from tree_oracle.report.certificate.verify import verify_certificate as verify_certificate
