package logstory

// ahead reads the entries of a log on a goroutine of its own: to find lines and their times takes about as long as to
// tell what they mean.
type ahead struct {
	batches chan []entry
	ended   chan struct{} // closed by Close
	err     error         // of the reader; valid once batches is closed
	now     []entry
}

// aheadEntries is how many entries are handed over at a time, and aheadBatches how many times that may wait.
const (
	aheadEntries = 256
	aheadBatches = 8
)

func readAhead(r *reader) *ahead {
	a := &ahead{batches: make(chan []entry, aheadBatches), ended: make(chan struct{})}
	go func() {
		defer close(a.batches)
		for a.err == nil {
			batch := make([]entry, 0, aheadEntries)
			for len(batch) < aheadEntries && a.err == nil {
				var e entry
				if e, a.err = r.read(); a.err == nil {
					batch = append(batch, e)
				}
			}
			select {
			case a.batches <- batch:
			case <-a.ended:
				return
			}
		}
	}()
	return a
}

// read returns the next entry. After the last one it returns io.EOF, or the error for which there are no more.
func (a *ahead) read() (entry, error) {
	for len(a.now) == 0 {
		batch, ok := <-a.batches
		if !ok {
			return entry{}, a.err
		}
		a.now = batch
	}
	e := a.now[0]
	a.now = a.now[1:]
	return e, nil
}

// Close ends the reading, and returns when nothing is read any more.
func (a *ahead) Close() error {
	close(a.ended)
	for range a.batches {
	}
	return nil
}
