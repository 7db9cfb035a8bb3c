package whatif

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ParseQuestion reads a question. The numbers of a recorded plan are int64, as an event has them.
func ParseQuestion(text []byte) (*Question, error) {
	var q Question
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&q); err != nil {
		return nil, fmt.Errorf("read question: %w", err)
	}
	if q.Inputs == nil {
		return nil, errors.New("the question has no inputs")
	}
	for name, v := range q.Recorded {
		if n, is := v.(json.Number); is {
			i, err := n.Int64()
			if err != nil {
				return nil, fmt.Errorf("read question: %s: %w", name, err)
			}
			q.Recorded[name] = i
		}
	}
	return &q, nil
}
