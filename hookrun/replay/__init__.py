"""What hooks would have done with the calls there were: read from the audit and from agents' transcripts."""
