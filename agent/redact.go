package agent

import (
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/agent/wire"
)

// maxDocument bounds a document field, in bytes.
const maxDocument = 8 << 10

// cleanText makes a text fit to leave: without secrets, short, and UTF-8. A text
// that is so already is returned as it is, without allocating.
func cleanText(s string) string { return clip(redact.Text(s)) }

// messageField shows a CRI message without its secrets. The message itself is
// the kubelet's and is not touched.
func messageField(name string, m proto.Message) (field, bool) {
	if m == nil || !m.ProtoReflect().IsValid() {
		return field{}, false
	}
	b, err := protojson.Marshal(redact.Message(m))
	if err != nil {
		return field{}, false
	}
	return document(name, b), true
}

func document(name string, b []byte) field {
	if len(b) > maxDocument {
		b, _ = json.Marshal(map[string]any{"truncated": true, "bytes": len(b)})
	}
	return wire.JSON(name, string(b))
}
