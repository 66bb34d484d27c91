module github.com/sandrone-gateway/sandrone

go 1.26
