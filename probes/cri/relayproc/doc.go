// Package relayproc is the relay process: what stands in the path between a kubelet and
// its runtime while podstep is attached. It does nothing else. It takes the runtime's
// socket over (package takeover), relays the connections (package relay), and reports
// calls to podstep over a link, a stream of messages.
//
// podstep may hang, end or be killed: calls go on without it, and those that it holds go
// on at once. A podstep that comes back finds the relay process by a socket in the
// directory of the takeovers' states. If none comes back, the relay process gives the
// path back, waits until the calls under way have come to their end, and ends.
package relayproc
