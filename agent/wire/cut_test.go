package wire

import "testing"

func TestCutDocument(t *testing.T) {
	text := CutDocument(8194)
	if want := `{"bytes":8194,"truncated":true}`; text != want {
		t.Errorf("it is %s, want %s", text, want)
	}
	for of, want := range map[string]bool{text: true, `{"bytes":1}`: false, `{}`: false, `[]`: false, "": false, `{"spec":{"containers":[]}}`: false} {
		if IsCutDocument([]byte(of)) != want {
			t.Errorf("%s: want %v", of, want)
		}
	}
}
