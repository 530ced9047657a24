import HeartwoodTestSupport

WorkerAssignment.runFromCommandLine()
