// Package state turns events into what a screen shows: the pods, the story of
// one pod step by step, a step's details, the timeline, the list of events. It
// is pure: it knows no terminal, no clock and no connection, and gives the same
// screen for the same events, whether they come from an agent or from a file.
//
// Everything is asked for at a position in the events. A live screen asks at the end. A frozen one asks earlier, and
// so does one that is scrubbed through a trace file. There is no other way to go back in time.
package state
