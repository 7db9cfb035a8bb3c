package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/podstep/podstep/agent/alert"
	"github.com/podstep/podstep/agent/version"
)

// Bounds of a webhook: how long a try may take, and the pauses before the second and the third.
const (
	WebhookTime   = 10 * time.Second
	webhookAnswer = 64 << 10
)

var webhookPauses = []time.Duration{time.Second, 4 * time.Second}

// Webhook posts each match as JSON.
type Webhook struct {
	url    *url.URL
	client *http.Client
	after  func(time.Duration) <-chan time.Time
}

// NewWebhook reads the address. after is time.After, or the clock of a test.
func NewWebhook(address string, after func(time.Duration) <-chan time.Time) (*Webhook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("not an address; write https://HOST/PATH or http://HOST/PATH")
	}
	return &Webhook{u, &http.Client{
		Timeout: WebhookTime,
		// What a match says goes to the address that a person chose, and to no other.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, after}, nil
}

// String names the webhook by its host: the path may be a secret.
func (w *Webhook) String() string { return "webhook at " + w.url.Host }

// Do posts a match. It tries again if the server cannot be reached, or has a problem that may pass.
func (w *Webhook) Do(ctx context.Context, m *alert.Match) error {
	body, err := encode(m)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		again, err := w.post(ctx, body)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errors.New("given up, because podstep ends")
		case !again:
			return err
		case try == len(webhookPauses):
			return fmt.Errorf("%w, at %d tries", err, try+1)
		}
		select {
		case <-w.after(webhookPauses[try]):
		case <-ctx.Done():
			return fmt.Errorf("%w; given up, because podstep ends", err)
		}
	}
}

// post tries once. again says that another try may succeed.
func (w *Webhook) post(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url.String(), bytes.NewReader(body))
	if err != nil {
		return false, withoutAddress(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "podstep/"+version.Own())
	answer, err := w.client.Do(req)
	if err != nil {
		return true, withoutAddress(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, webhookAnswer)) // so that the connection can be used again
	switch code := answer.StatusCode; {
	case code < 300:
		return false, nil
	case code < 400:
		return false, fmt.Errorf("the answer is %s, to another address; podstep follows none, so name that one", answer.Status)
	default:
		return code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout, fmt.Errorf("the answer is %s", answer.Status)
	}
}

// withoutAddress takes the address out of an error.
func withoutAddress(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
