// Package history keeps the events of a session: by position, in the form in which the agent sends them, with a small
// record for each call. Callers ask for everything as of a position, so they read a trace file and a live stream, the
// present and the past in the same way.
//
// A history is bounded: it forgets its oldest events. Times in it are session
// times, in nanoseconds since the first agent began.
package history
