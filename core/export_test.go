package core

// KeepNetwork leaves the network to the clients, so that a test sees what they
// do with it.
func KeepNetwork(c *Cores) { c.online = true }

// Offline is what takes the network away.
var Offline = offline
