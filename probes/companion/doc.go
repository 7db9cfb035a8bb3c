// Package companion starts processes that podstep has running next to it: each does one
// thing that has to go on, or to be undone, whatever becomes of podstep. They are the same
// program, in another role.
package companion
