"""Run folders to leaderboards: one model of the report, and a writer a format; `evalkit.report.build` makes the model."""
