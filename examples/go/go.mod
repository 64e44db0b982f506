module example.test/application

go 1.19
