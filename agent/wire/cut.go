package wire

import (
	"encoding/json"
	"fmt"
)

// CutDocument returns the document that stands for one of so many bytes, which was too large.
func CutDocument(bytes int) string { return fmt.Sprintf(`{"bytes":%d,"truncated":true}`, bytes) }

// IsCutDocument reports whether a document stands for one that was too large.
func IsCutDocument(text []byte) bool {
	var d struct{ Truncated bool }
	return json.Unmarshal(text, &d) == nil && d.Truncated
}
