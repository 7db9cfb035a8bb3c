// Package journal keeps the events of an agent and hands them out. It also knows, by the events, what every pod is doing.
//
// The way of an event: Put queues it (queue.go), on the goroutine of the kubelet. The journal's own goroutine takes the
// queue, encodes each event once (event.go), shows it to the verdicts (verdicts.go), keeps it in the flight recorder
// (recorder.go) and hands it to the watchers (watcher.go). A watcher may begin with the events of the recorder
// (history.go), or with the ends of its stories (tap.go). Stories of pods that are gone are put into columns (columns.go)
// and compressed (pack.go).
//
// The order of locks: Journal.out, then one of Verdicts.mu, Watcher.mu and history.mu, then Journal.mu. Nothing else is
// locked under Journal.mu, and Put takes no other lock: callers may put an event whatever they hold. The table of pods
// calls Verdicts.Forget under its own lock; no lock is held here when Options.Forget is called.
package journal
