package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/engine"
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
