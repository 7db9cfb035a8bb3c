package main

import (
	"bytes"

	"github.com/podstep/podstep/probes"
)

// jsonLines prints one event a line, as scripts get it.
type jsonLines struct{ b bytes.Buffer }

func (l *jsonLines) add(e *probes.Event) error {
	text, err := jsonText(e, "")
	if err != nil {
		return err
	}
	l.b.Write(text)
	return nil
}

func (l *jsonLines) flush() []byte {
	text := bytes.Clone(l.b.Bytes())
	l.b.Reset()
	return text
}
