"""From results of many commits to steps: which changed the speed, how much, and which commit it was."""
