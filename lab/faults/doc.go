// Package faults stands between a kubelet and what it calls: the container runtime, the API server, plugins, and the files
// of the node. A Table knows which calls are about which pod, records them, and breaks those that a rule names: they fail, hang, come late,
// or get a wrong answer. All other calls pass unchanged.
package faults
