"""xun: functions as tools, and an agent that uses them."""
