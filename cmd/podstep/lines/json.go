package lines

import (
	"bytes"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// JSON writes one event a line, for scripts.
type JSON struct {
	// Node is the name of the node that is added to each event; empty: none is.
	Node string
	b    bytes.Buffer
}

// nodeEvent is an event with the name of its node.
type nodeEvent struct {
	Node string `json:"node"`
	*probes.Event
}

func (l *JSON) Add(e *probes.Event) error {
	var data any = e
	if l.Node != "" {
		data = nodeEvent{l.Node, e}
	}
	text, err := words.JSON(data, "")
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
