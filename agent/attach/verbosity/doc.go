// Package verbosity raises the -v of a kubelet that runs, for a time, and puts the old value back however podstep ends: a
// guard process does so if podstep is killed, is stopped, or hangs. A record of it is kept, so that a second podstep
// does not take the raised value for the old one, and podstep restore can put it back when both are gone.
package verbosity
