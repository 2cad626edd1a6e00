"""Synthetic ECG: templates of beats (`morphology`), their times (`rhythm`), recordings with truth (`person`)."""
