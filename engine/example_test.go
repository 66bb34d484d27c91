package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/processors/script"
	"github.com/sandrone-gateway/sandrone/store"
)

// An engine needs neither a server nor a disk.
func ExampleEngine_Convert() {
	e, err := engine.New(engine.Options{
		Registry: formats.Registry(),
		Settings: sandrone.DefaultSettings(),
	})
	if err != nil {
		log.Fatal(err)
	}
	text := "trojan://secret@192.0.2.1:443?sni=a.example.com#Tokyo\nssh://user:secret@192.0.2.2:22#Relay"
	result, err := e.Convert(context.Background(), engine.ConvertRequest{
		FromFormat: "auto",
		ToFormat:   "shadowrocket-proxies", // has no ssh
		Content:    &text,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(result.Body))
	fmt.Println(result.Report.Render.SuccessCount, "written, lossy:", result.Report.Lossy)
	for _, w := range result.Report.Warnings {
		fmt.Println(w.Node+":", w.Code)
	}
	// Output:
	// [Proxy]
	// Tokyo=trojan,192.0.2.1,443,password=secret,peer=a.example.com
	// 1 written, lossy: true
	// Relay: render_node_skipped
}

// With a store in memory an engine keeps subscriptions, and with a registry of
// steps it shapes them.
func ExampleEngine_RenderSubscription() {
	ctx := context.Background()
	scripts := script.InProcess(script.Options{}) // for scripts of one's own; see its documentation
	defer scripts.Close()
	e, err := engine.New(engine.Options{
		Registry: formats.Registry(),
		Settings: sandrone.DefaultSettings(),
		Store:    store.New(store.Memory(), store.Options{}),
		Steps:    processors.New(processors.Options{Scripts: engine.ScriptType()}),
		Scripts:  scripts,
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = e.PutSubscription(ctx, &sandrone.Subscription{
		Name:    "home",
		Type:    sandrone.SubscriptionLocal,
		Content: "trojan://secret@192.0.2.1:443#Tokyo\ntrojan://secret@192.0.2.2:443#Expires soon",
		Processors: []sandrone.ProcessorSpec{
			{Type: "filter", Params: []byte(`{"action":"drop","field":"name","match":"regex","pattern":"(?i)expire"}`)},
			{Type: "script", Stage: sandrone.NodesStage, Params: []byte(`{"source":{"type":"inline","content":
				"function main(input) { for (const n of input.nodes) n.name += ' ' + input.args.tag; return input }"}}`)},
		},
	}, store.Precondition{})
	if err != nil {
		log.Fatal(err)
	}
	r, err := e.RenderSubscription(ctx, engine.RenderRequest{Name: "home", Format: "uri-list", Args: map[string]string{"tag": "(home)"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(r.Body))
	// Output:
	// trojan://secret@192.0.2.1:443?security=tls&type=tcp#Tokyo%20%28home%29
}
