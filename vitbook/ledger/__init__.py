"""What documents published, how it is measured again, and the verdicts.  Chapter: the ledger."""
