CREATE DATABASE template_victim;
