package kubeapi

import (
	"encoding/json"
	"errors"
	"io"
)

// EachItem reads a list of objects one by one, and calls each with the JSON of each, which is good only until each
// returns. It fails if the list breaks off. The items of an empty list may be null, as some servers send them.
func EachItem(r io.Reader, each func(raw []byte) error) error {
	d := json.NewDecoder(r)
	if some, err := enter(d, "items"); err != nil || !some {
		return err
	}
	var raw json.RawMessage
	for d.More() {
		raw = raw[:0]
		if err := d.Decode(&raw); err != nil {
			return err
		}
		if err := each(raw); err != nil {
			return err
		}
	}
	// Otherwise a list that breaks off would make objects disappear.
	if _, err := d.Token(); err != nil {
		return noEnd(err)
	}
	return nil
}

// enter goes into the array with that name in an object; some is false if the array is null.
func enter(d *json.Decoder, name string) (some bool, err error) {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false, notList(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return false, noEnd(err)
		}
		if key == name {
			t, err := d.Token()
			if err != nil || t != nil && t != json.Delim('[') {
				return false, notList(err)
			}
			return t != nil, nil
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return false, noEnd(err)
		}
	}
	return false, notList(nil)
}

func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func notList(err error) error {
	if err != nil {
		return noEnd(err)
	}
	return errors.New("it is no list of objects")
}
