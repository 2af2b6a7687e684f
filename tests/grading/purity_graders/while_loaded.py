"""A grader that reads the clock while its module is loaded; where it lies it may find out."""

import time
from pathlib import Path

from grading.ladders import Ladder, Milestone, Mode

HERE = Path(__file__).resolve().parent
STARTED = time.time()

ladder = Ladder("while_loaded", Mode.INDEPENDENT, [Milestone("any", lambda evidence: (True, ""))], version="1")
