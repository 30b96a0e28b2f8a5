"""xun behind an editor: a server of the Agent Client Protocol (https://agentclientprotocol.com) on standard streams."""
