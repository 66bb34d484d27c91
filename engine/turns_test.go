package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/store"
)

// More renders wait for their sources than may work at once; one that needs no
// source is done all the same, and so are they when their sources answer.
func TestSlowSourcesHoldNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		e := storedAir(t, fetchFunc(func(ctx context.Context, _ fetch.Request) (*fetch.Response, error) {
			<-answer
			return &fetch.Response{Status: 200, Body: []byte(link("one"))}, nil
		}), 0, time.Now)
		slow := 3 * max(2, runtime.GOMAXPROCS(0))
		all := sandrone.Subscription{Name: "all", Type: sandrone.SubscriptionCollection}
		put := func(s sandrone.Subscription) {
			t.Helper()
			if _, err := e.PutSubscription(t.Context(), &s, store.Precondition{}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range slow {
			name := fmt.Sprint("slow", i)
			put(sandrone.Subscription{Name: name, Type: sandrone.SubscriptionRemote, Remote: &sandrone.RemoteInput{URL: "http://air.example/" + name}})
			all.Inputs = append(all.Inputs, sandrone.NodeInput{Name: name, Type: sandrone.InputSubscription})
		}
		put(all)
		put(sandrone.Subscription{Name: "own", Type: sandrone.SubscriptionLocal, Content: link("one")})

		renders := func(name string) error {
			_, err := e.RenderSubscription(t.Context(), engine.RenderRequest{Name: name, Format: "uri-list"})
			return err
		}
		errs := make(chan error)
		for i := range slow {
			go func() { errs <- renders(fmt.Sprint("slow", i)) }()
			go func() { errs <- renders("all") }()
		}
		synctest.Wait()
		if err := renders("own"); err != nil {
			t.Error(err)
		}
		close(answer)
		for range 2 * slow {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}
