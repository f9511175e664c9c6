#!/usr/bin/env node
import '../build/src/main.js';
