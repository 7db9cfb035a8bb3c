// Package past keeps the events of an agent in a directory of bounded size, and reads them there later: docs/back.md.
//
// The directory has segments, which are trace files. Recorder writes them, on a goroutine of its own, for which nobody
// waits. Each segment stands alone: it begins with the stories of the pods that are there, shortened, and ends with an
// index, by which a reader knows what it has without decoding it. Open reads the segments of a time as one recording.
package past
