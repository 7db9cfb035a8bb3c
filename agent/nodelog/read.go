package nodelog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"
)

const (
	// maxTail bounds the end of a log that is read, in bytes.
	maxTail = 4 << 20
	// maxEntries bounds how many entries of the journal are read.
	maxEntries = 20000
)

// End returns the end of the log, at most some megabytes: lines that the process wrote, or entries of the journal as
// JSON, one a line. Of the journal it returns what is not older than since.
func (l *Log) End(ctx context.Context, since time.Duration) ([]byte, error) {
	if l.file == "" {
		text, err := l.journal(ctx, fmt.Sprintf("--since=-%ds", int(since.Seconds())), fmt.Sprintf("--lines=%d", maxEntries))
		if err == nil && len(text) == 0 {
			return nil, ErrNone
		}
		return text, err
	}
	f, err := l.openEnd(maxTail)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTail))
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		text = text[:i+1]
	}
	return text, err
}

// Follow hands over the lines of the end of the log, and then those that are written, until ctx ends or the log cannot
// be read any more. If it is called again, it goes on behind the last entry of a journal.
func (l *Log) Follow(ctx context.Context, add func(line string)) error {
	if l.file == "" {
		return l.followJournal(ctx, add)
	}
	return l.followFile(ctx, maxTail, add)
}
