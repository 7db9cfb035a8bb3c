package probes

import "testing"

var tested = NewReason("test.tested", Text{En: "{what} is not {how}", Zh: "{how}的不是{what}"})

func TestReason(t *testing.T) {
	for _, c := range []struct {
		reason Reason
		want   Text
	}{
		{Reason{}, Text{}},
		{tested.With("what", "a pod", "how", "{what}"), Text{En: "a pod is not {what}", Zh: "{what}的不是a pod"}},
		{tested.Reason(), Text{En: "? is not ?", Zh: "?的不是?"}},
		{Reason{Code: "newer", Args: map[string]string{"b": "2", "a": "1"}}, Text{En: "newer a=1 b=2", Zh: "newer a=1 b=2"}},
	} {
		if got := c.reason.Text(); got != c.want {
			t.Errorf("%+v reads %q", c.reason, got)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a code was declared twice")
		}
	}()
	NewReason("test.tested", Text{En: "again", Zh: "again"})
}
