package lines

import (
	"bytes"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// JSON writes one event a line, for scripts.
type JSON struct{ b bytes.Buffer }

func (l *JSON) Add(e *probes.Event) error {
	text, err := words.JSON(e, "")
	if err != nil {
		return err
	}
	l.b.Write(text)
	return nil
}

func (l *JSON) Flush() []byte {
	text := bytes.Clone(l.b.Bytes())
	l.b.Reset()
	return text
}
