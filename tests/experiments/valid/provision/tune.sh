#!/bin/sh
echo changed=0
