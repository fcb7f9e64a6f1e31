"""The lower bound by column generation: master, pricing, and the constraints on single clusters."""
