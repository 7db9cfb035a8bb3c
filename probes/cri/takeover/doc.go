// Package takeover puts podstep between a kubelet and its runtime while both
// run, and takes it out again, so that neither notices more than a new
// connection. It takes the name of the runtime's socket, asks the kubelet's
// connections to come over, keeps the name while runtimes restart and
// directories are replaced, and gives it back, at the latest by a guard process
// that outlives podstep. What goes over the connections is not its business.
//
// There are two names in the socket's directory: NAME and NAME.podstep. Our socket is made as NAME.podstep, and one
// exchange of the two names by the kernel takes the path over: there is no moment in which it is missing or refuses
// a connection. The same exchange gives it back. Of the two names, one is ours and the other one the runtime's, at
// every moment. So the guard or podstep restore, when they find them, know what to do. The runtime's socket has one
// more name, .podstep/NAME, for the case that somebody removes the second one.
package takeover
