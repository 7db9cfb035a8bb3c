package main

import (
	"context"
	"fmt"
	"time"
)

// whyEvery is how often why --watch asks.
const whyEvery = 2 * time.Second

// watchWhy asks again and again, and prints the answer whenever something new is in it. If an
// answer fails, it asks again.
func (a *app) watchWhy(ctx context.Context, f *whyFlags, ask func(context.Context) (whyAnswer, error)) error {
	last := ""
	for first := true; ; first = false {
		answer, err := ask(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil && err.Error() != last:
			last = err.Error()
			a.printf("%v", err)
		case err == nil && answer.key() != last:
			last = answer.key()
			if !first && f.out.value == "" {
				fmt.Fprintf(a.out, "\n%s\n", time.Now().Format(time.TimeOnly))
			}
			if err := answer.print(a.out, f); err != nil {
				return err
			}
		}
		select {
		case <-time.After(whyEvery):
		case <-ctx.Done():
			return nil
		}
	}
}
