// Package stream waits for what a stream brings beside other things. It is apart from package client, which is linked into
// the kubelet: its goroutine does not recover, so that a panic ends the program that shows the stream.
package stream

import "context"

// Arrival is one thing that a stream brought: an item, or the error that ended the stream.
type Arrival[T any] struct {
	Item T
	Err  error
}

// Receive calls next again and again on a goroutine of its own, and returns what it brings, until next fails or ctx ends.
// So a caller can wait for other things beside a stream.
func Receive[T any](ctx context.Context, next func() (T, error)) <-chan Arrival[T] {
	out := make(chan Arrival[T])
	go func() {
		for {
			item, err := next()
			select {
			case out <- Arrival[T]{item, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}
