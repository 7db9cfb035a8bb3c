// Package companion starts processes that podstep runs next to it. Each does one thing that must go on, or must be
// undone, whatever becomes of podstep. They run podstep's own program, in another role.
package companion
