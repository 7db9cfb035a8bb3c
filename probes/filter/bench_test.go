package filter

import "testing"

func BenchmarkMatch(b *testing.B) {
	for _, text := range []string{"err", "ns=shop pod~web-*", "web", `error~"not found" or slow>2s`, "field.image~busybox"} {
		f, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				for _, e := range events {
					f.Match(e)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
		})
	}
}
